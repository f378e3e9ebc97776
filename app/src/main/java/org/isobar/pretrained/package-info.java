/** A trained model as a directory that can be copied: its configuration, its weights and the data's statistics. */
package org.isobar.pretrained;
