/** Matrix products by oneDNN, and the cache of all products, which chooses how they are computed. */
package org.isobar.backend.cpu.onednn;
