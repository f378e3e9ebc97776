/** Measures the CPU training step of Isobar's benchmark in PyTorch (LibTorch through JavaCPP). */
package org.isobar.bench.pytorch;
