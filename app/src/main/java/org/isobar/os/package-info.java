/**
 * Access to the operating system: atomic files, file error messages, external commands, processor, memory and page
 * cache.
 */
package org.isobar.os;
