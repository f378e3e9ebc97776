/** Writes models as ONNX graphs. Only this package uses the message classes of ONNX. */
package org.isobar.export.onnx;
