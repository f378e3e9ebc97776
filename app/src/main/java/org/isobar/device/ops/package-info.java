/** The operations that models are made of, by family, and the checks before each of them. */
package org.isobar.device.ops;
