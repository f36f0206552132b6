// `/docs`: a page for browsers with the description of the API, which can send requests. The service hosts the page and its
// viewer, and the content security policy of the page allows no other source.
import { ServiceError } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import { forReading, plainText, type Endpoint } from '../../engine/endpoint.ts';
import type { ResponseHeaders, ServiceResponse } from '../../engine/exchange.ts';
import { serveFile } from '../static-files.ts';

export interface ApiDocsOptions {
  readonly versionPrefix: string;
  /** Folder with the page and its own files. */
  readonly pageFolder: string;
  /** Folder with the files of the viewer. */
  readonly viewerFolder: string;
}

const page = 'index.html';

/** Files of the viewer; all others below `/docs/` belong to the page. */
const viewerFiles: ReadonlySet<string> = new Set(['swagger-ui-bundle.js', 'swagger-ui.css']);

const headers: ResponseHeaders = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // The style sheet of the viewer contains its icons.
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** Returns the endpoints of the page and its files. */
export function apiDocsEndpoints({ versionPrefix, pageFolder, viewerFolder }: ApiDocsOptions): readonly Endpoint[] {
  const servePage = ({ request }: Context): Promise<ServiceResponse> =>
    serveFile(request, { root: pageFolder, path: page, headers });
  const serve = ({ request, parameters }: Context): Promise<ServiceResponse> => {
    const name = parameters['*'] ?? '';
    // The URLs in the page are relative to the one without trailing slash.
    if (name === '') return Promise.resolve(moved(`${request.origin}${versionPrefix}/docs`));
    if (name === page) throw new ServiceError('unknownPath');
    return serveFile(request, { root: viewerFiles.has(name) ? viewerFolder : pageFolder, path: name, headers });
  };
  const common = { isResource: false, isForBrowsers: true, ignoresCaller: true } as const;
  return [
    { ...common, name: 'docs', path: '/docs', operations: forReading('docs', servePage) },
    {
      ...common,
      name: 'docs-file',
      path: '/docs/{*}',
      parameters: { '*': plainText },
      operations: forReading('docs_file', serve),
    },
  ];
}

function moved(location: string): ServiceResponse {
  return {
    status: 307,
    headers: { Location: location, 'Content-Type': 'text/plain' },
    body: 'This has moved to docs\n',
  };
}
