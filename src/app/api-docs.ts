// Finds the files of the API page: those of the page itself, and the viewer.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolve } from 'import-meta-resolve';
import type { Logger } from '../contracts/logger.ts';
import type { Endpoint } from '../engine/endpoint.ts';
import { apiDocsEndpoints } from '../http/views/api-docs.ts';

const assets = fileURLToPath(new URL('../../assets/', import.meta.url));
const viewer = '@fastify/swagger-ui/static/swagger-ui.css';

/** Returns the endpoints of the API page; none where the viewer is missing, since the service is complete without it. */
export function createApiDocs(versionPrefix: string, logger: Logger): readonly Endpoint[] {
  const viewerFolder = findViewer();
  if (viewerFolder !== undefined) {
    return apiDocsEndpoints({ versionPrefix, pageFolder: join(assets, 'api-docs'), viewerFolder });
  }
  logger.warn('There is no page at /docs, because its viewer is missing. "npm run build" copies it.');
  return [];
}

/** The viewer that ships with the package; in a checkout, the package that it is copied from. */
function findViewer(): string | undefined {
  const shipped = join(assets, 'swagger-ui');
  if (existsSync(join(shipped, 'swagger-ui.css'))) return shipped;
  try {
    return dirname(fileURLToPath(resolve(viewer, import.meta.url)));
  } catch {
    // Packages for development are not installed.
    return undefined;
  }
}
