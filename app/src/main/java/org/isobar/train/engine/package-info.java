/** The choice of engines by trials: of attention, and of the algorithms of matrix products. */
package org.isobar.train.engine;
