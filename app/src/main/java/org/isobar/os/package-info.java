/**
 * What the operating system does and says: files written whole, reasons of failures, short programs, processor and
 * memory.
 */
package org.isobar.os;
