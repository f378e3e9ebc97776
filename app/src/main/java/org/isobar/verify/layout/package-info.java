/** A model cut over ranks against the same model whole. */
package org.isobar.verify.layout;
