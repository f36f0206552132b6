// What a file may be called and what it is: extensions by groups, media types, and which of them a browser may show.

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

/** Extensions that may be something a web server runs. */
const executableExtensions: ReadonlySet<string> = new Set([
  ...groups.get('scripts')!,
  ...groups.get('executables')!,
  'cgi',
  'phtml',
]);

/**
 * The extensions that a setting names, in lower case.
 *
 * @returns `undefined` for all
 */
export function parseExtensions(setting: string): ReadonlySet<string> | undefined {
  const words = setting.split('+').map((word) => word.trim().toLowerCase());
  if (words.includes('any')) return undefined;
  const names = words.flatMap((word) => (word === 'default' ? byDefault : [word]));
  return new Set(names.flatMap((name) => groups.get(name) ?? [name.replace(/^\./, '')]).filter((name) => name !== ''));
}

/** The extension of a file name in lower case and without its point, `''` when there is none. */
export function extensionOf(filename: string): string {
  const point = filename.lastIndexOf('.');
  return point <= 0 ? '' : filename.slice(point + 1).toLowerCase();
}

/** Whether files so named are something that a web server might run. */
export function isExecutable(extension: string): boolean {
  return executableExtensions.has(extension);
}

const mediaType = /^[a-z0-9!#$&^_.+-]{1,100}\/[a-z0-9!#$&^_.+-]{1,100}$/;
const knownTypes: readonly (readonly [string, string])[] = [
  ['pem', 'application/x-pem-file'],
  ['geojson', 'application/geojson'],
];

/**
 * Media types by extension.
 *
 * @throws Error naming a pair that is none
 */
export function parseMimetypes(setting: string): ReadonlyMap<string, string> {
  const pairs = setting.split(';').map((pair) => pair.trim());
  const given = pairs.flatMap((pair) => {
    if (pair === '') return [];
    const [extension = '', type = '', ...rest] = pair.split(':').map((part) => part.trim().toLowerCase());
    if (!/^\.?[^./]+$/.test(extension) || !mediaType.test(type) || rest.length > 0) {
      throw new Error(`attachment.mimetypes: expected .ext:type/subtype and not ${pair}`);
    }
    return [[extension.replace(/^\./, ''), type] as const];
  });
  return new Map([...knownTypes, ...given]);
}

/** A media type as a client gave it; what is no media type becomes the one of unknown content. */
export function cleanMimetype(given: string | undefined): string {
  const type = given?.trim().toLowerCase() ?? '';
  return mediaType.test(type) ? type : 'application/octet-stream';
}

/** What a browser shows without running anything; everything else is saved. SVG and HTML run scripts. */
const displayableTypes = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/[a-z0-9.+-]+|video\/[a-z0-9.+-]+)$/;

/** Whether a browser may show files of the type in its window. */
export function isDisplayable(mimetype: string): boolean {
  return displayableTypes.test(mimetype);
}
