// An nginx in front of a service, as many deployments have one: it keeps connections to the service open and sends requests
// of all clients through them. The program is found on the machine, or fetched from Debian's archive.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findProgram } from './debian-program.ts';
import { freePort } from './postgresql-server.ts';
import { untilListening, type Proxy } from './proxy.ts';

/**
 * Starts it in front of the service at this origin.
 *
 * @param location of the first port, in place of that of the tests
 * @param shared returns directives that the location needs outside of servers, given a folder for files
 */
export async function startNginx(
  origin: string,
  location?: string,
  shared?: (folder: string) => string,
): Promise<Proxy> {
  const program = await findProgram({
    names: ['nginx'],
    variable: 'TEST_NGINX_BINARY',
    install: 'nginx',
    mustUnpack: true,
    unpack: ['nginx', 'libpcre2-8-0'],
    files: [path.join('..', 'sbin', 'nginx')],
  });
  const folder = await mkdtemp(path.join(tmpdir(), 'coffer-nginx-'));
  const ports = [await freePort(), await freePort()] as const;
  const config = path.join(folder, 'nginx.conf');
  const log = path.join(folder, 'requests.log');
  await mkdir(path.join(folder, 'temporary'));
  await writeFile(log, '');
  await writeFile(
    config,
    configuration(folder, log, new URL(origin).host, ports, location, shared?.(path.join(folder, 'temporary'))),
  );
  const child = spawn(program.path, ['-p', folder, '-c', config, '-e', path.join(folder, 'errors.log')], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...(program.libraries === undefined ? {} : { LD_LIBRARY_PATH: program.libraries }) },
  });
  await untilListening(ports[1], child);
  return {
    origin: `http://127.0.0.1:${ports[0]}`,
    streamingOrigin: `http://127.0.0.1:${ports[1]}`,
    async requests() {
      const lines = (await readFile(log, 'latin1')).split('\n').filter((line) => line !== '');
      return lines.map((line) => {
        const [method = '', status = '', upstream = '', ...target] = line.split(' ');
        return { method, target: target.join(' '), status: Number(status), isForwarded: upstream !== '-' };
      });
    },
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function configuration(
  folder: string,
  log: string,
  service: string,
  ports: readonly [number, number],
  location?: string,
  shared = '',
): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${path.join(folder, 'temporary', name)};`,
  );
  const understanding = (buffering: string): string => `
      location / {
        proxy_pass http://service;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $http_host;
        proxy_request_buffering ${buffering};
      }`;
  const server = (port: number, content: string): string => `
    server {
      listen 127.0.0.1:${port};
      ${content}
    }`;
  return `
  daemon off;
  master_process off;
  pid ${path.join(folder, 'nginx.pid')};
  events { worker_connections 64; }
  http {
    ${temporary.join('\n    ')}
    ${shared}
    log_format understood '$request_method $status $upstream_status $request_uri';
    access_log ${log} understood;
    underscores_in_headers on;
    ignore_invalid_headers off;
    client_max_body_size 1m;
    # One connection, so that what is left in it meets the next request.
    upstream service { server ${service} max_fails=0; keepalive 1; }
    ${server(ports[0], location ?? understanding('on'))}
    ${server(ports[1], understanding('off'))}
  }`;
}
