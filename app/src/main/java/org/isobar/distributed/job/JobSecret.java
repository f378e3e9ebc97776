package org.isobar.distributed.job;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

import org.isobar.fault.UserException;

/**
 * What the processes of one job know and nobody else does. It is made anew for each job by whoever starts it and
 * reaches the processes through their environment or a file, never through a command line, which others can read.
 */
public final class JobSecret {
    /** Holds the secret itself. */
    public static final String VARIABLE = "ISOBAR_JOB_SECRET";
    /** Names a file that holds the secret. */
    public static final String FILE_VARIABLE = "ISOBAR_JOB_SECRET_FILE";
    private static final int SHORTEST = 16;
    private static final String ALGORITHM = "HmacSHA256";

    private final SecretKeySpec key;
    private final boolean given;

    private JobSecret(String text, boolean given) {
        this.key = new SecretKeySpec(text.getBytes(StandardCharsets.UTF_8), ALGORITHM);
        this.given = given;
    }

    /**
     * The secret that the environment holds or names, or none.
     *
     * @throws UserException if it is too short, or in a file that others can read
     */
    public static JobSecret of(Map<String, String> environment) {
        String text = environment.getOrDefault(VARIABLE, "").strip();
        String file = environment.getOrDefault(FILE_VARIABLE, "").strip();
        if (text.isEmpty() && file.isEmpty()) {
            return none();
        }
        if (text.isEmpty()) {
            text = read(file);
        }
        if (text.length() < SHORTEST) {
            throw new UserException("the job's secret has " + text.length() + " characters and needs at least "
                + SHORTEST + "; make one with `openssl rand -hex 32`");
        }
        return new JobSecret(text, true);
    }

    /** No secret: good enough among the processes of one machine. */
    public static JobSecret none() {
        return new JobSecret("no secret", false);
    }

    /** A new secret, as text for {@link #VARIABLE}: 256 random bits. */
    public static String random() {
        byte[] bits = new byte[32];
        new SecureRandom().nextBytes(bits);
        return HexFormat.of().formatHex(bits);
    }

    private static String read(String file) {
        try {
            Path path = Path.of(file);
            Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(path);
            if (permissions.contains(PosixFilePermission.GROUP_READ)
                || permissions.contains(PosixFilePermission.OTHERS_READ)) {
                throw new UserException("others can read the job's secret in " + file + "; run `chmod 600 " + file
                    + "` before it is written");
            }
            return Files.readString(path).strip();
        } catch (IOException | InvalidPathException | UnsupportedOperationException unreadable) {
            throw new UserException("cannot read the job's secret in " + file + " (" + FILE_VARIABLE + "): "
                + unreadable, unreadable);
        }
    }

    /** Whether there is one. */
    boolean given() {
        return given;
    }

    /** Proof of knowing the secret: HMAC-SHA256 (RFC 2104) over what this side is and both sides' random numbers. */
    byte[] proof(String side, byte[] ownNonce, byte[] peerNonce) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(key);
            mac.update(side.getBytes(StandardCharsets.US_ASCII));
            mac.update(ownNonce);
            mac.update(peerNonce);
            return mac.doFinal();
        } catch (GeneralSecurityException impossible) {
            throw new AssertionError("every Java has " + ALGORITHM, impossible);
        }
    }
}
