/** The vision transformer: images of weather in, images of the weather six hours later out. */
package org.isobar.vit;
