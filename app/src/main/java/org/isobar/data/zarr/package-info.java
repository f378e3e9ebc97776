/**
 * Reads Zarr stores of versions 2 and 3 on a local disk. {@link org.isobar.data.zarr.ZarrStore} opens one; its metadata
 * become arrays, whose chunks the codecs decode.
 */
package org.isobar.data.zarr;
