// Static JSON documents: the version of the service and `contribute.json`.
import { readFile } from 'node:fs/promises';
import { ServiceError } from '../../core/errors.ts';
import { describeDocument, type OperationDescription } from '../../engine/description.ts';
import { forReading, type Endpoint } from '../../engine/endpoint.ts';
import type { ServiceResponse } from '../../engine/exchange.ts';

export interface StaticJson {
  readonly name: string;
  readonly path: string;
  readonly operationId: string;
  /** Description in one sentence. */
  readonly summary: string;
  /** Candidates in order; only one if it is configured. */
  readonly files: readonly string[];
}

/** Returns an endpoint with the first file that contains JSON, read once; 404 without one. */
export function staticJsonEndpoint({ name, path, operationId, summary, files }: StaticJson): Endpoint {
  let loading: Promise<string | undefined> | undefined;
  const handle = async (): Promise<ServiceResponse> => {
    loading ??= loadFirst(files);
    const body = await loading;
    if (body === undefined) throw new ServiceError('unknownPath');
    return { status: 200, headers: {}, body };
  };
  const describe = (): OperationDescription => ({
    ...describeDocument(summary, 'The document.'),
    errors: [404],
  });
  return {
    name,
    path,
    isResource: false,
    ignoresCaller: true,
    operations: forReading(operationId, { handle, describe }),
  };
}

async function loadFirst(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    try {
      return JSON.stringify(JSON.parse(await readFile(file, 'utf8')));
    } catch {
      // Absent or not JSON: try the next one.
    }
  }
  return undefined;
}
