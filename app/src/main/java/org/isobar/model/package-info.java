/** What the trainer knows of a model: its interface, its loss, and the registry of architectures. */
package org.isobar.model;
