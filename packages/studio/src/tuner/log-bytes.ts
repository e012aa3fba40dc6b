/** The bytes of dropped files, one after the other, unpacked where they are gzipped: by what is in them, not by their names. */

export type TakeBytes = (chunk: Uint8Array, packedBytes: number, file: number) => void;

/** `take` is told how many bytes of the files themselves have been read so far. */
export async function readFiles(files: readonly Blob[], take: TakeBytes): Promise<void> {
  let before = 0;
  for (const [place, file] of files.entries()) {
    const base = before;
    await readFile(file, (chunk, packedBytes) => take(chunk, base + packedBytes, place));
    before += file.size;
  }
}

async function readFile(file: Blob, take: (chunk: Uint8Array, packedBytes: number) => void): Promise<void> {
  const head = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  const packing = packingOf(head);
  if (packing === 'other') {
    throw new Error('This file is packed in another way than gzip. Unpack it first.');
  }
  let packedBytes = 0;
  const counted = file.stream().pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        packedBytes += chunk.length;
        controller.enqueue(chunk);
      },
    }),
  );
  const plain = packing === 'gzip' ? counted.pipeThrough(new DecompressionStream('gzip')) : counted;
  const reader = plain.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      take(value, packedBytes);
    }
  } catch (error) {
    if (packing !== 'gzip' || !(error instanceof TypeError)) throw error;
    // Browsers unpack one part only, and do not say where it ended.
    throw new Error(
      `The gzipped file is broken, cut off, or made of several parts, which browsers cannot unpack: it ended after ${packedBytes} bytes. Unpack it first, or use sluice tune.`,
      { cause: error },
    );
  }
}

/** By the first bytes: gzip; zstd, bzip2, xz and zip, which browsers cannot unpack; or text. */
function packingOf(head: Uint8Array): 'gzip' | 'other' | 'none' {
  const startsWith = (...bytes: number[]) => bytes.every((byte, i) => head[i] === byte);
  if (startsWith(0x1f, 0x8b)) return 'gzip';
  const isOther =
    startsWith(0x28, 0xb5, 0x2f, 0xfd) ||
    startsWith(0x42, 0x5a, 0x68) ||
    startsWith(0xfd, 0x37, 0x7a, 0x58) ||
    startsWith(0x50, 0x4b, 3, 4);
  return isOther ? 'other' : 'none';
}
