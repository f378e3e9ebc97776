package org.isobar.fault;

/** Makes text from files and options safe to print on a terminal, as one line. */
public final class PlainText {
    private PlainText() { }

    /**
     * The text with each control character, line break and invisible format character (such as a change of the writing
     * direction) replaced by its escape: a backslash, {@code u} and four hexadecimal digits.
     */
    public static String of(String text) {
        if (text == null || text.chars().noneMatch(PlainText::isUnsafe)) {
            return text;
        }
        StringBuilder plain = new StringBuilder();
        text.chars().forEach(unit -> {
            if (isUnsafe(unit)) {
                plain.append("\\u%04x".formatted(unit));
            } else {
                plain.append((char) unit);
            }
        });
        return plain.toString();
    }

    private static boolean isUnsafe(int unit) {
        return switch (Character.getType(unit)) {
            case Character.CONTROL, Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> true;
            default -> false;
        };
    }
}
