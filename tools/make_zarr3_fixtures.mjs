// Writes the Zarr store of version 3 of the tests of `data.zarr`, in a zip file.
//
// Usage: npm install --no-save zarrita@0.7.5 && node tools/make_zarr3_fixtures.mjs   (in the root of the source tree;
// writes app/src/test/resources/org/isobar/data/zarr/version3.zip; needs zip)
//
// zarrita encodes chunks with blosc, lz4, zstd and transpose. Gzip, checksums and shards it only decodes: these are
// encoded here, and all arrays are read back with zarrita.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import FileSystemStore from "@zarrita/storage/fs";
import * as zarr from "zarrita";
import { registry } from "zarrita";

const OUT = resolve("app/src/test/resources/org/isobar/data/zarr/version3.zip");
const SHAPE = [3, 2, 5, 7];
const DIMS = ["time", "level", "lat", "lon"];
const CHUNK = [2, 1, 3, 4];
const LITTLE = { name: "bytes", configuration: { endian: "little" } };
const ZSTD = { name: "zstd", configuration: { level: 3, checksum: false } };
const directory = mkdtempSync("/tmp/zarr3-");
const root = zarr.root(new FileSystemStore(directory));

// Element [t, l, j, i] is 1000 t + 100 l + 10 j + i.
const element = (t, l, j, i) => 1000 * t + 100 * l + 10 * j + i;

function elements(type, [t0, l0, j0, i0] = [0, 0, 0, 0], [nt, nl, nj, ni] = SHAPE) {
    const data = new type(nt * nl * nj * ni);
    let at = 0;
    for (let t = 0; t < nt; t++) for (let l = 0; l < nl; l++) for (let j = 0; j < nj; j++) for (let i = 0; i < ni; i++) {
        const value = element(t0 + t, l0 + l, j0 + j, i0 + i);
        data[at++] = type === BigInt64Array ? BigInt(value) : value;
    }
    return data;
}

// CRC-32C (RFC 3720, B.4), in little-endian order.
function crc32c(bytes) {
    let sum = 0xffffffff;
    for (const byte of bytes) {
        sum ^= byte;
        for (let k = 0; k < 8; k++) sum = sum & 1 ? (sum >>> 1) ^ 0x82f63b78 : sum >>> 1;
    }
    const out = Buffer.alloc(4);
    out.writeUInt32LE((sum ^ 0xffffffff) >>> 0);
    return out;
}

async function addEncoder(name, encode) {
    const decoder = await registry.get(name)();
    registry.set(name, () => ({
        fromConfig(configuration, meta) {
            const codec = decoder.fromConfig(configuration, meta);
            codec.encode = encode;
            return codec;
        },
    }));
}

async function add(name, dtype, type, codecs, options = {}) {
    const array = await zarr.create(root.resolve(name), {
        shape: SHAPE, chunkShape: options.chunk ?? CHUNK, dtype, codecs, fillValue: options.fill ?? 0,
        dimensionNames: DIMS, attributes: options.attributes ?? {}, chunkSeparator: options.separator,
    });
    const rows = options.rows ?? [null];
    for (const row of rows) {
        const data = row === null ? elements(type) : elements(type, [row, 0, 0, 0], [1, 2, 5, 7]);
        const shape = row === null ? SHAPE : SHAPE.slice(1);
        const stride = shape.map((_, d) => shape.slice(d + 1).reduce((a, b) => a * b, 1));
        await zarr.set(array, row === null ? null : [row, null, null, null], { data, shape, stride });
    }
}

async function check(name, rows = [0, 1, 2]) {
    const { data, stride } = await zarr.get(await zarr.open(root.resolve(name), { kind: "array" }));
    for (const t of rows) for (let l = 0; l < 2; l++) for (let j = 0; j < 5; j++) for (let i = 0; i < 7; i++) {
        const found = Number(data[t * stride[0] + l * stride[1] + j * stride[2] + i * stride[3]]);
        if (found !== element(t, l, j, i)) throw new Error(`${name}: ${[t, l, j, i]} is ${found}`);
    }
}

// Shards of the whole array, with chunks of CHUNK. The last chunk does not exist.
async function addShards(name, indexLocation) {
    const pipeline = await registry.get("zstd")();
    const zstd = pipeline.fromConfig(ZSTD.configuration);
    const shard = [4, 2, 6, 8];
    const metadata = {
        zarr_format: 3, node_type: "array", shape: SHAPE, data_type: "float32",
        chunk_grid: { name: "regular", configuration: { chunk_shape: shard } },
        chunk_key_encoding: { name: "default", configuration: { separator: "/" } }, fill_value: "0x7fc00000",
        codecs: [{ name: "sharding_indexed", configuration: { chunk_shape: CHUNK, codecs: [LITTLE, ZSTD],
            index_codecs: [LITTLE, { name: "crc32c" }], index_location: indexLocation } }],
        dimension_names: DIMS, attributes: {},
    };
    const counts = shard.map((extent, d) => extent / CHUNK[d]);
    const number = counts.reduce((a, b) => a * b, 1);
    const index = Buffer.alloc(16 * number, 0xff);
    let offset = indexLocation === "start" ? index.length + 4 : 0;
    const parts = [];
    for (let n = 0; n < number - 1; n++) {
        const at = [];
        for (let d = 3, rest = n; d >= 0; d--) { at[d] = (rest % counts[d]) * CHUNK[d]; rest = Math.floor(rest / counts[d]); }
        const chunk = await zstd.encode(new Uint8Array(elements(Float32Array, at, CHUNK).buffer));
        index.writeBigUInt64LE(BigInt(offset), 16 * n);
        index.writeBigUInt64LE(BigInt(chunk.length), 16 * n + 8);
        parts.push(Buffer.from(chunk));
        offset += chunk.length;
    }
    const whole = Buffer.concat([index, crc32c(index)]);
    mkdirSync(join(directory, name, "c/0/0/0"), { recursive: true });
    writeFileSync(join(directory, name, "zarr.json"), JSON.stringify(metadata));
    writeFileSync(join(directory, name, "c/0/0/0/0"),
        Buffer.concat(indexLocation === "start" ? [whole, ...parts] : [...parts, whole]));
}

function filesBelow(path) {
    return readdirSync(path).sort().flatMap(name => statSync(join(path, name)).isDirectory()
        ? filesBelow(join(path, name)) : [join(path, name)]);
}

await zarr.create(root, { attributes: { title: "fixtures" } });
await addEncoder("gzip", bytes => new Uint8Array(gzipSync(bytes)));
await addEncoder("crc32c", bytes => new Uint8Array(Buffer.concat([bytes, crc32c(bytes)])));
const blosc = { name: "blosc", configuration: { typesize: 4, cname: "lz4", clevel: 5, shuffle: "shuffle", blocksize: 0 } };
await add("plain", "float32", Float32Array, [LITTLE], { separator: "." });
await add("blosc", "float32", Float32Array, [LITTLE, blosc]);
await add("big", "int16", Int16Array, [{ name: "bytes", configuration: { endian: "big" } }, ZSTD],
    { attributes: { scale_factor: 0.5, units: "K", _FillValue: -32767 } });
await add("transposed", "float64", Float64Array,
    [{ name: "transpose", configuration: { order: [3, 1, 0, 2] } }, LITTLE, ZSTD], { attributes: { _FillValue: "AAAAAAAA+H8=" } });
await add("gzip", "int64", BigInt64Array, [LITTLE, { name: "gzip", configuration: { level: 1 } }]);
await add("checked", "int32", Int32Array, [LITTLE, ZSTD, { name: "crc32c" }]);
await add("sparse", "float32", Float32Array, [LITTLE, ZSTD], { fill: 1.5, chunk: [1, 2, 5, 7], rows: [2] });
await addShards("shards", "end");
await addShards("shards_start", "start"); // which zarrita does not read
await check("plain");
await check("blosc");
await check("big");
await check("transposed");
await check("gzip");
await check("checked");
await check("sparse", [2]);
await check("shards", [0, 1]);

const scalar = { ...JSON.parse(readFileSync(join(directory, "plain/zarr.json"))), shape: [], data_type: "int32",
    chunk_grid: { name: "regular", configuration: { chunk_shape: [] } }, dimension_names: [] };
mkdirSync(join(directory, "scalar"));
writeFileSync(join(directory, "scalar/zarr.json"), JSON.stringify({ ...scalar,
    chunk_key_encoding: { name: "v2", configuration: { separator: "." } } }));
writeFileSync(join(directory, "scalar/0"), Buffer.from([7, 0, 0, 0]));
for (const [name, change] of [
    ["unknown", { codecs: [LITTLE, { name: "pcodec", configuration: {} }] }],
    ["words", { data_type: "string", codecs: [{ name: "vlen-utf8" }], fill_value: "" }],
    ["stamps", { data_type: { name: "numpy.datetime64", configuration: { unit: "s", scale_factor: 1 } } }]]) {
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, "zarr.json"), JSON.stringify({ ...scalar, ...change }));
}

const files = filesBelow(directory);
files.forEach(file => utimesSync(file, 946684800, 946684800)); // equal stores give equal files
rmSync(OUT, { force: true });
mkdirSync(dirname(OUT), { recursive: true });
execFileSync("zip", ["-q", "-X", OUT, ...files.map(file => file.slice(directory.length + 1))],
    { cwd: directory, env: { ...process.env, TZ: "UTC" } });
rmSync(directory, { recursive: true });
