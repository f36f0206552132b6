// Parser of S3 ListObjectsV2 responses. Their form is fixed and flat, so a general XML parser is not needed.
import type { BlobEntry } from '../../contracts/blobs.ts';

export interface Listing {
  readonly entries: readonly BlobEntry[];
  /** Token of the next page; `undefined` after the last. */
  readonly next: string | undefined;
}

/** Parses a response to ListObjectsV2 with `encoding-type=url`. */
export function readListing(xml: string): Listing {
  const entries = Array.from(xml.matchAll(/<Contents>(.*?)<\/Contents>/gs), ([, content = '']): BlobEntry => {
    const name = textOf(content, 'Key') ?? '';
    return {
      name: decodeURIComponent(name.replaceAll('+', ' ')),
      sizeBytes: Number(textOf(content, 'Size') ?? 0),
      lastModified: Date.parse(textOf(content, 'LastModified') ?? ''),
    };
  });
  return { entries, next: textOf(xml, 'NextContinuationToken') };
}

function textOf(xml: string, element: string): string | undefined {
  const text = new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1];
  return text?.replaceAll(/&(?:#x([0-9a-fA-F]+)|#(\d+)|(amp|lt|gt|quot|apos));/g, decodeEntity);
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeEntity(_whole: string, hex: string | undefined, decimal: string | undefined, name: string): string {
  if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
  return decimal === undefined ? entities[name]! : String.fromCodePoint(Number(decimal));
}
