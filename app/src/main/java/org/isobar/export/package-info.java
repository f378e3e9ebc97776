/** Writes trained models in forms that other programs load. */
package org.isobar.export;
