/** The processes of a job: rendezvous, authentication, connections between ranks, and failure detection. */
package org.isobar.distributed.job;
