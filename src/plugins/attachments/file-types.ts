// File types: groups of extensions, media types, and the types that browsers may display.

const groups: ReadonlyMap<string, readonly string[]> = new Map([
  ['documents', ['rtf', 'odf', 'ods', 'gnumeric', 'abw', 'doc', 'docx', 'xls', 'xlsx', 'pdf']],
  ['text', ['txt']],
  ['images', ['jpg', 'jpe', 'jpeg', 'png', 'gif', 'svg', 'bmp', 'webp']],
  ['audio', ['wav', 'mp3', 'aac', 'ogg', 'oga', 'flac']],
  ['video', ['mpeg', '3gp', 'avi', 'divx', 'dvr', 'flv', 'mp4', 'wmv']],
  ['data', ['csv', 'ini', 'json', 'plist', 'xml', 'yaml', 'yml']],
  ['scripts', ['js', 'php', 'pl', 'py', 'rb', 'sh']],
  ['archives', ['gz', 'bz2', 'zip', 'tar', 'tgz', 'txz', '7z']],
  ['executables', ['so', 'exe', 'dll']],
]);

const byDefault: readonly string[] = ['documents', 'text', 'images', 'data'];

/** Extensions of files that a web server might execute. */
const executableExtensions: ReadonlySet<string> = new Set([
  ...groups.get('scripts')!,
  ...groups.get('executables')!,
  'cgi',
  'phtml',
]);

/**
 * Parses the accepted extensions of a setting, in lower case.
 *
 * @returns `undefined` if all are accepted
 */
export function parseExtensions(setting: string): ReadonlySet<string> | undefined {
  const words = setting.split('+').map((word) => word.trim().toLowerCase());
  if (words.includes('any')) return undefined;
  const names = words.flatMap((word) => (word === 'default' ? byDefault : [word]));
  return new Set(names.flatMap((name) => groups.get(name) ?? [name.replace(/^\./, '')]).filter((name) => name !== ''));
}

/** Returns the extension of a file name in lower case without its dot, or `''`. */
export function extensionOf(filename: string): string {
  const point = filename.lastIndexOf('.');
  return point <= 0 ? '' : filename.slice(point + 1).toLowerCase();
}

/** Returns whether a web server might execute files with the extension. */
export function isExecutable(extension: string): boolean {
  return executableExtensions.has(extension);
}

const mediaType = /^[a-z0-9!#$&^_.+-]{1,100}\/[a-z0-9!#$&^_.+-]{1,100}$/;
const knownTypes: readonly (readonly [string, string])[] = [
  ['pem', 'application/x-pem-file'],
  ['geojson', 'application/geojson'],
];

/**
 * Parses media types by extension.
 *
 * @throws Error with the first invalid pair
 */
export function parseMimetypes(setting: string): ReadonlyMap<string, string> {
  const pairs = setting.split(';').map((pair) => pair.trim());
  const given = pairs.flatMap((pair) => {
    if (pair === '') return [];
    const [extension = '', type = '', ...rest] = pair.split(':').map((part) => part.trim().toLowerCase());
    if (!/^\.?[^./]+$/.test(extension) || !mediaType.test(type) || rest.length > 0) {
      throw new Error(`attachment.mimetypes: expected pairs of the form .ext:type/subtype, not ${pair}`);
    }
    return [[extension.replace(/^\./, ''), type] as const];
  });
  return new Map([...knownTypes, ...given]);
}

/** Returns the media type that the client gave, or `application/octet-stream` if it is invalid. */
export function cleanMimetype(given: string | undefined): string {
  const type = given?.trim().toLowerCase() ?? '';
  return mediaType.test(type) ? type : 'application/octet-stream';
}

/** Types that browsers display without running scripts. All others are downloaded. SVG and HTML run scripts. */
const displayableTypes = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/[a-z0-9.+-]+|video\/[a-z0-9.+-]+)$/;

/** Returns whether browsers may display files of the type. */
export function isDisplayable(mimetype: string): boolean {
  return displayableTypes.test(mimetype);
}
