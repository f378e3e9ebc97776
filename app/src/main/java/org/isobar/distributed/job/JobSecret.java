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
 * The shared secret of a job, by which its processes authenticate to each other. The launcher or submit script
 * generates a new one for each job. Processes read it from their environment or from a file, never from a command line,
 * which other users can read.
 */
public final class JobSecret {
    /** Environment variable that holds the secret. */
    public static final String VARIABLE = "ISOBAR_JOB_SECRET";
    /** Environment variable that names a file with the secret. */
    public static final String FILE_VARIABLE = "ISOBAR_JOB_SECRET_FILE";
    private static final int MIN_LENGTH = 16;
    private static final String ALGORITHM = "HmacSHA256";

    private final SecretKeySpec key;
    private final boolean given;

    private JobSecret(String text, boolean given) {
        this.key = new SecretKeySpec(text.getBytes(StandardCharsets.UTF_8), ALGORITHM);
        this.given = given;
    }

    /**
     * The secret from the environment or from the file that it names; {@link #none} if neither is set.
     *
     * @throws UserException if the secret is too short, or its file is readable by others
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
        if (text.length() < MIN_LENGTH) {
            throw new UserException("the job's secret has " + text.length() + " characters and needs at least "
                + MIN_LENGTH + "; make one with `openssl rand -hex 32`");
        }
        return new JobSecret(text, true);
    }

    /** No secret. Sufficient for processes of one machine that meet on a loopback address. */
    public static JobSecret none() {
        return new JobSecret("no secret", false);
    }

    /** A new secret of 256 random bits, as text for {@link #VARIABLE}. */
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
                throw new UserException("the job's secret in " + file + " is readable by others; run `chmod 600 "
                    + file + "` before writing it");
            }
            return Files.readString(path).strip();
        } catch (IOException | InvalidPathException | UnsupportedOperationException unreadable) {
            throw new UserException("cannot read the job's secret in " + file + " (" + FILE_VARIABLE + "): "
                + unreadable, unreadable);
        }
    }

    /** Whether a secret is set. */
    boolean given() {
        return given;
    }

    /** Proof of knowing the secret: HMAC-SHA256 (RFC 2104) over the side (host or caller) and both sides' nonces. */
    byte[] proof(String side, byte[] ownNonce, byte[] peerNonce) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(key);
            mac.update(side.getBytes(StandardCharsets.US_ASCII));
            mac.update(ownNonce);
            mac.update(peerNonce);
            return mac.doFinal();
        } catch (GeneralSecurityException impossible) {
            throw new AssertionError("every Java platform has " + ALGORITHM, impossible);
        }
    }
}
