/** The processes of a job: how they find and authenticate each other, and how they notice that one has failed. */
package org.isobar.distributed.job;
