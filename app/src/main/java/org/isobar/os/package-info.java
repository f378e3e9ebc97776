/**
 * Access to the operating system: atomic files, private, temporary and cache directories, file error messages, external
 * commands, processor, memory and page cache.
 */
package org.isobar.os;
