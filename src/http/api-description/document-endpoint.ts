// `/__api__` and `/openapi.json`: descriptions of the API for tools. Everything but the URL of the service is constant, so a
// document is built once.
import type { JsonObject } from '../../base/json.ts';
import { formatJson } from '../../base/json.ts';
import { describeDocument } from '../../engine/description.ts';
import { forReading, type Endpoint } from '../../engine/endpoint.ts';
import type { ServiceRequest, ServiceResponse } from '../../engine/exchange.ts';
import { openApiDocument } from './openapi.ts';
import type { DocumentOptions } from './operations.ts';
import { swaggerDocument } from './swagger.ts';

/** Returns the endpoints of both formats. */
export function documentEndpoints(options: DocumentOptions): readonly Endpoint[] {
  return [
    documentEndpoint({
      name: 'openapi',
      path: '/__api__',
      id: 'get_openapi_spec',
      format: 'Swagger 2.0',
      make: () => swaggerDocument(options),
      head(origin) {
        const [scheme = 'http', host = ''] = origin.split('://');
        return { swagger: '2.0', host, schemes: [scheme] };
      },
    }),
    documentEndpoint({
      name: 'openapi-3',
      path: '/openapi.json',
      id: 'get_openapi',
      format: 'OpenAPI 3.1',
      make: () => openApiDocument(options),
      head: (origin) => ({ openapi: '3.1.0', servers: [{ url: `${origin}${options.versionPrefix}` }] }),
    }),
  ];
}

interface Document {
  readonly name: string;
  readonly path: string;
  readonly id: string;
  readonly format: string;
  /** Builds the constant part. */
  readonly make: () => JsonObject;
  /** Returns the members that depend on the origin of the request. */
  readonly head: (origin: string) => JsonObject;
}

function documentEndpoint({ name, path, id, format, make, head }: Document): Endpoint {
  let constant: string | undefined;
  const handle = ({ request }: { readonly request: Pick<ServiceRequest, 'origin'> }): Promise<ServiceResponse> => {
    constant ??= formatJson(make()).slice(1);
    const body = `${formatJson(head(request.origin)).slice(0, -1)},${constant}`;
    return Promise.resolve({ status: 200, headers: {}, body });
  };
  const describe = (): ReturnType<typeof describeDocument> =>
    describeDocument(`Returns the description of this service in ${format}.`, 'The description.');
  return { name, path, isResource: false, ignoresCaller: true, operations: forReading(id, { handle, describe }) };
}
