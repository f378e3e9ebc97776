/** Chooses the back end of a run. The back ends are the packages inside this one. */
package org.isobar.backend;
