/** The climatology of years of weather, and the statistics of each channel, streamed over any number of files. */
package org.isobar.data.survey;
