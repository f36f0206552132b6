// Plugin `admin`: serves the web console of the package, or the files of another one such as kinto-admin, below
// `/admin/`.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Context } from '../../engine/context.ts';
import { forReading, plainText } from '../../engine/endpoint.ts';
import type { ResponseHeaders, ServiceResponse } from '../../engine/exchange.ts';
import { definePlugin } from '../../http/plugin.ts';
import { serveFile } from '../../http/static-files.ts';
import { setting } from '../../settings/definition.ts';
import { text } from '../../settings/readers.ts';
import { readVersion } from '../../settings/version.ts';

const settings = {
  admin_assets_path: setting(
    text('a folder'),
    'Folder of another web console, with index.html and a file VERSION. Empty means the console of the package.',
    { default: '', section: 'Web console' },
  ),
};

/** Files of the built-in console. The relative path is the same from `src` and from `dist`. */
const ownRoot = fileURLToPath(new URL('../../../admin/dist/', import.meta.url));

/** Cache time of files with hashed names: a year. */
const hashedFileSeconds = 365 * 24 * 60 * 60;

/** Policy of the built-in console, which handles credentials: only its own files and its own origin. */
const ownPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Policy of other consoles, which have inline scripts and styles. */
const otherPolicy =
  "default-src 'self'; img-src data: *; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'";

interface Console {
  readonly root: string;
  readonly version: string;
  readonly headers: ResponseHeaders;
  /** Start of the paths of files whose names change with their content. */
  readonly lasting?: string;
}

export const admin = definePlugin({
  name: 'admin',
  settings,
  setup({ settings: given, versionPrefix, documentationUrl, logger }) {
    const { root, version, headers, lasting } = findConsole(given.read(settings).admin_assets_path);
    if (!existsSync(join(root, 'index.html'))) {
      logger.warn('The web console is not served, because its files are missing. "npm run build" creates them.');
    }
    const redirect = ({ request }: Context): Promise<ServiceResponse> =>
      Promise.resolve({
        status: 307,
        headers: { Location: `${request.origin}${versionPrefix}/admin/`, 'Content-Type': 'text/plain' },
        body: 'Moved to admin/\n',
      });
    const serve = ({ request, parameters }: Context): Promise<ServiceResponse> => {
      const path = parameters['*'] ?? '';
      const cacheSeconds = lasting !== undefined && path.startsWith(lasting) ? hashedFileSeconds : 0;
      return serveFile(request, { root, path, headers, cacheSeconds });
    };
    return {
      frontPage: '/admin/',
      showsPermissions: true,
      capabilities: {
        admin: { description: 'Serves the web console at admin/.', url: documentationUrl('admin'), version },
      },
      endpoints: [
        {
          name: 'admin',
          path: '/admin',
          isResource: false,
          isForBrowsers: true,
          ignoresCaller: true,
          isForOperators: true,
          operations: forReading('admin', redirect),
        },
        {
          name: 'admin-file',
          path: '/admin/{*}',
          parameters: { '*': plainText },
          isResource: false,
          isForBrowsers: true,
          ignoresCaller: true,
          isForOperators: true,
          operations: forReading('admin_file', serve),
        },
      ],
    };
  },
});

/** @throws Error when the folder is incomplete */
function findConsole(folder: string): Console {
  if (folder === '') {
    const headers = { 'Content-Security-Policy': ownPolicy, 'Referrer-Policy': 'no-referrer' };
    return { root: ownRoot, version: readVersion(), headers, lasting: 'assets/' };
  }
  const root = resolve(folder);
  return { root, version: readVersionFile(root), headers: { 'Content-Security-Policy': otherPolicy } };
}

/** @throws Error when the folder is incomplete */
function readVersionFile(root: string): string {
  try {
    if (!statSync(join(root, 'index.html')).isFile()) throw new Error('index.html is not a file');
    return readFileSync(join(root, 'VERSION'), 'utf8').trim();
  } catch (cause) {
    throw new Error(`admin_assets_path must be a folder with index.html and VERSION; ${root} is not.`, { cause });
  }
}
