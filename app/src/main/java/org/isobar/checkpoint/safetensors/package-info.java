/** The safetensors file format. */
package org.isobar.checkpoint.safetensors;
