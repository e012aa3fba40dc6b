/**
 * The header fields that both sides of a connection know by their numbers (RFC 7541, sections 2.3 and 4).
 *
 *      1 ... 61      the same for everybody
 *      62 ...        those that the other side has added, the newest first; the oldest go when there is no room
 */

/** What one field takes beside its name and value, says the standard. */
export const fieldOverheadBytes = 32;

/** What the other side may fill, unless told otherwise; this one tells nothing else. */
export const tableBytesMax = 4096;

export interface Field {
  readonly name: string;
  readonly value: string;
  /** Whether a request may have it. What may not is a field all the same: later ones are counted on from it. */
  readonly isAllowed: boolean;
}

const shared = (
  ':authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|:status=204|:status=206|:status=304|' +
  ':status=400|:status=404|:status=500|accept-charset|accept-encoding=gzip, deflate|accept-language|accept-ranges|accept|' +
  'access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|content-encoding|content-language|content-length|' +
  'content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|' +
  'if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|' +
  'set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate'
)
  .split('|')
  .map((line): Field => {
    const [name = '', value = ''] = line.split(/(?<=.)=/);
    return { name, value, isAllowed: name !== 'transfer-encoding' && name !== ':status' };
  });

/** The number of a field of the shared table by its name. */
export const numberOfName = (name: string) => shared.findIndex((field) => field.name === name) + 1;

// So many of the smallest fields there are fill the table.
const places = tableBytesMax / fieldOverheadBytes;

export class FieldTable {
  readonly #added = new Array<Field | undefined>(places);
  #newest = 0;
  #count = 0;
  #bytes = 0;
  #bytesMax = tableBytesMax;

  /** Undefined where nothing has this number. */
  find(number: number): Field | undefined {
    if (number <= shared.length) return shared[number - 1];
    const age = number - shared.length - 1;
    return age < this.#count ? this.#added[(this.#newest - age + places) % places] : undefined;
  }

  add(field: Field): void {
    const bytes = bytesOf(field);
    this.#shrink(this.#bytesMax - bytes);
    // One that is larger than the table empties it, and that is no mistake.
    if (bytes > this.#bytesMax) return;
    this.#newest = (this.#newest + 1) % places;
    this.#added[this.#newest] = field;
    this.#count += 1;
    this.#bytes += bytes;
  }

  resize(bytesMax: number): void {
    this.#bytesMax = bytesMax;
    this.#shrink(bytesMax);
  }

  #shrink(bytesMax: number): void {
    while (this.#count > 0 && this.#bytes > bytesMax) {
      const oldest = (this.#newest - this.#count + 1 + places) % places;
      this.#bytes -= bytesOf(this.#added[oldest]!);
      this.#added[oldest] = undefined;
      this.#count -= 1;
    }
  }
}

export const bytesOf = ({ name, value }: Field) => name.length + value.length + fieldOverheadBytes;
