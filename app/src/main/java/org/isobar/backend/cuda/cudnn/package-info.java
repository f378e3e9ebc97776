/** Attention by NVIDIA's cuDNN, through its backend interface of descriptors. */
package org.isobar.backend.cuda.cudnn;
