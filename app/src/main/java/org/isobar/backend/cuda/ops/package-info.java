/** The operations of a GPU, one class for each family, and the workspace that they share. */
package org.isobar.backend.cuda.ops;
