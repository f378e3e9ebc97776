/** What a model reads of a time besides the first channels of a file: channels by name, constant fields, the time. */
package org.isobar.data.channels;
