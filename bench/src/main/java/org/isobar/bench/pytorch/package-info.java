/** The training step that Isobar has measured on the CPU, taken by PyTorch: LibTorch through JavaCPP. */
package org.isobar.bench.pytorch;
