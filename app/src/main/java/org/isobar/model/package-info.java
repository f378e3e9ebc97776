/** The interface of models and losses to the trainer, and the registry of architectures. */
package org.isobar.model;
