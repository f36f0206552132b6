// What tests of attachments share: forms as they go over the wire, and a look into the folder of the files.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { TestClient, TestRequest, TestResponse } from '../../src/testing/index.ts';

export interface FormPart {
  readonly name: string;
  readonly filename?: string;
  readonly type?: string;
  readonly content: string | Buffer;
}

export const boundary = 'of-the-tests';

/** The bytes of a form. */
export function formBytes(parts: readonly FormPart[]): Buffer {
  const chunks = parts.flatMap(({ name, filename, type, content }) => {
    const file = filename === undefined ? '' : `; filename="${filename.replaceAll('"', String.raw`\"`)}"`;
    const media = type === undefined ? '' : `\r\nContent-Type: ${type}`;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}${media}\r\n\r\n`;
    return [Buffer.from(head), Buffer.from(content), Buffer.from('\r\n')];
  });
  return Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]);
}

/** A request with a form. */
export function form(parts: readonly FormPart[], headers: Readonly<Record<string, string>> = {}): TestRequest {
  return {
    raw: formBytes(parts),
    headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}`, ...headers },
  };
}

export interface UploadOptions {
  readonly content?: string | Buffer;
  readonly filename?: string;
  readonly type?: string;
  readonly data?: object;
  readonly permissions?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Uploads a file to a record. */
export function upload(client: TestClient, record: string, options: UploadOptions = {}): Promise<TestResponse> {
  const { content = 'hello', filename = 'hello.txt', type = 'text/plain', data, permissions, headers } = options;
  const parts: FormPart[] = [{ name: 'attachment', filename, type, content }];
  if (data !== undefined) parts.push({ name: 'data', content: JSON.stringify(data) });
  if (permissions !== undefined) parts.push({ name: 'permissions', content: JSON.stringify(permissions) });
  return client.request('POST', `/v1${record}/attachment`, form(parts, headers));
}

export function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** A folder that tests give to a service. */
export class FileFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(): Promise<FileFolder> {
    return new FileFolder(await mkdtemp(join(tmpdir(), 'coffer-files-')));
  }

  /** Names of all files in it, those included that were never finished. */
  get names(): readonly string[] {
    if (!existsSync(this.path)) return [];
    return readdirSync(this.path, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(this.path, name)).isFile())
      .map((name) => relative('.', name))
      .toSorted();
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}
