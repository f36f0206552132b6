// The web console: serves the files of a built console, such as kinto-admin, below `/admin/`.
import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Context } from '../../engine/context.ts';
import type { Operation } from '../../engine/endpoint.ts';
import type { ServiceResponse } from '../../engine/exchange.ts';
import { definePlugin } from '../../http/plugin.ts';
import { serveFile } from '../../http/static-files.ts';
import { setting } from '../../settings/definition.ts';
import { text } from '../../settings/readers.ts';

const settings = {
  admin_assets_path: setting(
    text('a folder'),
    'Folder with the built web console: it holds index.html and a file VERSION. Needed when the plugin admin is included.',
    { default: '', section: 'Web console' },
  ),
};

/** The console is a program in the browser: it runs scripts and styles of its own build, and talks to its own origin. */
const headers = {
  'Content-Security-Policy':
    "default-src 'self'; img-src data: *; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'",
};

export const admin = definePlugin({
  name: 'admin',
  settings,
  setup({ settings: given, versionPrefix, documentationUrl }) {
    const root = resolve(given.read(settings).admin_assets_path);
    const version = readVersion(root);
    const redirect = ({ request }: Context): Promise<ServiceResponse> =>
      Promise.resolve({
        status: 307,
        headers: { Location: `${request.origin}${versionPrefix}/admin/`, 'Content-Type': 'text/plain' },
        body: 'This has moved to admin/\n',
      });
    const serve = ({ request, ids }: Context): Promise<ServiceResponse> =>
      serveFile(request, { root, path: ids['*'] ?? '', headers });
    return {
      showsPermissions: true,
      capabilities: {
        admin: { description: 'The web console is at admin/.', url: documentationUrl('admin'), version },
      },
      endpoints: [
        { name: 'admin', path: '/admin', isResource: false, ignoresCaller: true, operations: forReading(redirect, '') },
        {
          name: 'admin-file',
          path: '/admin/{*}',
          isResource: false,
          ignoresCaller: true,
          operations: forReading(serve, '_file'),
        },
      ],
    };
  },
});

function forReading(
  handle: Operation['handle'],
  suffix: string,
): { readonly GET: Operation; readonly HEAD: Operation } {
  return { GET: { id: `admin${suffix}`, handle }, HEAD: { id: `head_admin${suffix}`, handle } };
}

/** @throws Error saying what the folder lacks */
function readVersion(root: string): string {
  try {
    if (!statSync(join(root, 'index.html')).isFile()) throw new Error('index.html is no file');
    return readFileSync(join(root, 'VERSION'), 'utf8').trim();
  } catch (cause) {
    throw new Error(`admin_assets_path must name a folder with index.html and VERSION; ${root} is none.`, { cause });
  }
}
