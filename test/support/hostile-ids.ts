// Ids that no id rule accepts, most of them made to be mistaken for one that is there. Data for every test that attacks ids:
// the addresses of a service, the model, the fuzzer and the contracts.

/** Each makes a hostile id out of an id that exists, or ignores it. None of the results is an id; none holds a slash. */
const disguises: readonly ((id: string) => string)[] = [
  // NUL: some drivers end a text there.
  (id) => `${id}\0`,
  (id) => `\0${id}`,
  (id) => `${id}\0\0`,
  (id) => `${id}\0x`,
  (id) => `${id.slice(0, 1)}\0${id.slice(1)}`,
  () => '\0',
  // Other controls and blanks, which a layer may trim.
  (id) => `${id} `,
  (id) => ` ${id}`,
  (id) => `${id}\t`,
  (id) => `${id}\n`,
  (id) => `${id}\r\n`,
  (id) => `${id}\u0001`,
  (id) => `${id}\u001f`,
  (id) => `${id}\u007f`,
  (id) => `${id}\u0085`,
  (id) => `${id}\u00a0`,
  (id) => `${id}\u2028`,
  () => ' ',
  // Wildcards, escapes and quotes of SQL, LIKE, GLOB, Redis patterns and regular expressions.
  () => '%',
  (id) => `${id}%`,
  () => '_',
  (id) => `_${id}`,
  () => '*',
  (id) => `${id}*`,
  (id) => `${id}?`,
  (id) => `[${id}]`,
  (id) => `{${id}}`,
  (id) => `${id}|`,
  (id) => `^${id}$`,
  (id) => `${id}\\`,
  (id) => `${id}'`,
  (id) => `${id}"`,
  (id) => `${id}' OR '1'='1`,
  (id) => `${id}\`; --`,
  // Separators of addresses, keys and lists.
  (id) => `${id}:`,
  (id) => `${id};`,
  (id) => `${id},${id}`,
  (id) => `${id}@1`,
  (id) => `${id}#`,
  (id) => `${id}&`,
  (id) => `${id}=`,
  (id) => `${id}+`,
  () => '.',
  () => '..',
  (id) => `${id}.`,
  (id) => `-${id}`,
  (id) => `~${id}`,
  (id) => `$${id}`,
  // Escapes once more: decoded twice, they would be something else.
  (id) => `${id}%00`,
  () => '%2e%2e',
  (id) => `${id}%2F${id}`,
  (id) => `${id}\\u0000`,
  // Look-alikes, and what normalization would turn into the id.
  () => 'р',
  () => 'с',
  (id) => String.fromCodePoint(id.codePointAt(0)! + 0xfee0) + id.slice(1),
  (id) => `${id}\u0301`,
  (id) => `${id}\u200b`,
  (id) => `${id}\u200d`,
  (id) => `\ufeff${id}`,
  (id) => `\u202e${id}`,
  () => 'İ',
  // Names of prototypes that are no ids, lengths, and characters of four bytes.
  () => '__proto__',
  () => '__defineGetter__',
  (id) => id.repeat(600),
  () => '\u{1f600}',
  () => '\u{1f600}'.repeat(200),
  () => '\u{10ffff}',
  (id) => `${id}\uffff`,
];

/** Hostile ids that resemble the one given. */
export function hostileIdsNear(id: string): readonly string[] {
  return [...new Set(disguises.map((disguise) => disguise(id)))];
}

/** Segments of paths whose escapes are broken, or are no UTF-8 once decoded. They cannot be written as text. */
export const hostileSegments: readonly string[] = [
  '%ff',
  '%c0%80',
  '%c0%af',
  '%ed%a0%80',
  '%ed%b0%80',
  '%f5%80%80%80',
  '%80',
  'p%c3',
  'p%00%ff',
];

/** A path with its ids percent-encoded, whatever they hold. */
export function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
