/** Collectives between GPUs over NCCL. */
package org.isobar.backend.cuda.nccl;
