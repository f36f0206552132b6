// The file of a record (plugin `attachments`).
import type { Connection } from './object-list.ts';
import { check, type Reply, type Request } from './transport.ts';
import type { AttachmentInfo, CallOptions, Permissions, WriteOptions } from './types.ts';
import { preconditions } from './values.ts';

/** Options of an upload. */
export interface UploadOptions extends Omit<WriteOptions, 'lastModified' | 'repeated'> {
  /** Name of the file; default: that of a `File`. */
  readonly filename?: string;
  /** Attributes of the record to set with the file. */
  readonly data?: object;
  readonly permissions?: Permissions;
}

/** The file of one record. */
export interface Attachment {
  /** Stores a file, in place of the one before, and creates the record if it does not exist. */
  put(file: Blob, options?: UploadOptions): Promise<AttachmentInfo>;
  /** Reads the file; `location` is that of the record's attribute `attachment`. */
  read(info: Pick<AttachmentInfo, 'location'>, options?: CallOptions): Promise<Blob>;
  /** Returns an address of the file that needs no credentials until it expires, for images and links. */
  url(options?: CallOptions): Promise<{ readonly url: string; readonly expires: number }>;
  delete(options?: WriteOptions): Promise<void>;
}

export function attachmentsOf({ transport, send }: Connection, record: string): Attachment {
  const path = `${record}/attachment`;
  const call = async (request: Request): Promise<unknown> => check(await transport.request(request));
  const absolute = (location: string): string => String(new URL(location, transport.root));
  return {
    put: async (file, options = {}) => {
      const { filename = file instanceof File ? file.name : 'untitled', data, permissions, signal } = options;
      const form = new FormData();
      form.set('attachment', file, filename);
      if (data !== undefined) form.set('data', JSON.stringify(data));
      if (permissions !== undefined) form.set('permissions', JSON.stringify(permissions));
      const request = { method: 'POST', path, headers: preconditions(options), body: form, isRepeatable: true, signal };
      return (await call(request)) as AttachmentInfo;
    },
    read: async ({ location }, { signal } = {}) =>
      (await call({ method: 'GET', path: absolute(location), as: 'blob', signal })) as Blob,
    url: async ({ signal } = {}) => {
      const body = await call({ method: 'GET', path: `${path}/url`, signal });
      const { url, expires } = body as { readonly url: string; readonly expires: number };
      return { url: absolute(url), expires };
    },
    delete: (options = {}) => {
      const headers = preconditions(options);
      const request = { method: 'DELETE', path, headers, isRepeatable: true, signal: options.signal };
      return send(request, (reply: Reply) => {
        check(reply);
      });
    },
  };
}
