// An HAProxy in front of a service, which reads HTTP in ways of its own. It keeps connections to the service open and sends
// requests of all clients through them. The program is found on the machine, or fetched from Debian's archive.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { findProgram } from './debian-program.ts';
import { freePort } from './postgresql-server.ts';
import { untilListening, type ForwardedRequest, type Proxy } from './proxy.ts';

/**
 * Starts it in front of the service at this origin.
 *
 * @param configure returns a configuration, given the ports at which to listen, in place of that of the tests
 */
export async function startHaproxy(
  origin: string,
  configure?: (ports: readonly [number, number]) => string,
): Promise<Proxy> {
  const program = await findProgram({
    names: ['haproxy'],
    variable: 'TEST_HAPROXY_BINARY',
    install: 'haproxy',
    mustUnpack: true,
    files: [path.join('..', 'sbin', 'haproxy')],
  });
  const folder = await mkdtemp(path.join(tmpdir(), 'coffer-haproxy-'));
  const ports = [await freePort(), await freePort()] as const;
  const config = path.join(folder, 'haproxy.cfg');
  await writeFile(config, configure?.(ports) ?? configuration(new URL(origin).host, ports));
  const child = spawn(program.path, ['-f', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...(program.libraries === undefined ? {} : { LD_LIBRARY_PATH: program.libraries }) },
  });
  const requests: ForwardedRequest[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => requests.push(readLine(line)));
  await untilListening(ports[1], child);
  return {
    origin: `http://127.0.0.1:${ports[0]}`,
    streamingOrigin: `http://127.0.0.1:${ports[1]}`,
    requests: () => Promise.resolve([...requests]),
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** `POST 200 service /v1/batch`; the server is `<NOSRV>` when none was asked. */
function readLine(line: string): ForwardedRequest {
  const [method = '', status = '', server = '', ...target] = line.split(' ');
  return { method, target: target.join(' '), status: Number(status), isForwarded: server === 'service' };
}

function configuration(service: string, ports: readonly [number, number]): string {
  const frontend = (port: number, option: string): string => `
    frontend port_${port}
      bind 127.0.0.1:${port}
      ${option}
      default_backend all
`;
  return `
    global
      log stdout format raw daemon
    defaults
      mode http
      log global
      log-format "%HM %ST %s %HU"
      option dontlognull
      timeout connect 5s
      timeout client 1s
      timeout http-request 1s
      timeout server 5s
      # Bytes left in a connection precede the next request of any client.
      http-reuse always
    ${frontend(ports[0], 'option http-buffer-request')}
    ${frontend(ports[1], 'no option http-buffer-request')}
    backend all
      server service ${service} maxconn 1 pool-max-conn 1
`;
}
