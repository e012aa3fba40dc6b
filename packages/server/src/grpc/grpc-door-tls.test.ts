import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ChannelCredentials, status } from '@grpc/grpc-js';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Certificates, makeCertificates } from '../service/certificates.test-support.ts';
import { closed, GrpcClient, LimitingService, openDoor, request } from './grpc-door.test-support.ts';

let certificates: Certificates;
beforeAll(async () => {
  certificates = await makeCertificates();
});

/** The certificate is for an address as well, but TLS has no server name that is one. */
const secure = (address: string, credentials: ChannelCredentials) =>
  new GrpcClient(address, credentials, { 'grpc.ssl_target_name_override': 'localhost' });

const ask = (client: GrpcClient) => client.shouldRateLimit(request('user', '42'), { deadline: Date.now() + 20_000 });

describe('TLS', () => {
  const open = () => openDoor(new LimitingService(), { tls: { ...certificates.server, ca: undefined } });

  test('serves a client that trusts the authority, without a certificate of its own', async () => {
    const { address } = await open();
    const client = secure(address, ChannelCredentials.createSsl(certificates.ca));
    expect((await ask(client)).overallCode).toBe('OK');
    expect(await client.check()).toEqual({ status: 'SERVING' });
  });

  test('is not for those who speak in the clear, and they harm nobody', async () => {
    const { address, port } = await open();
    await expect(ask(new GrpcClient(address))).rejects.toMatchObject({ code: status.UNAVAILABLE });
    const socket = connectTcp(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\n\r\n');
    await closed(socket);
    expect((await ask(secure(address, ChannelCredentials.createSsl(certificates.ca)))).overallCode).toBe('OK');
  });

  test('has HTTP/2 inside, and nothing else', async () => {
    const { port } = await open();
    const socket = connectTls({
      port,
      host: '127.0.0.1',
      servername: 'localhost',
      ca: certificates.ca,
      ALPNProtocols: ['http/1.1'],
    });
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    await closed(socket);
    const silent = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: certificates.ca });
    silent.on('error', () => undefined);
    await closed(silent);
  });
});

test('a handshake that never ends does not outlive a drain', async () => {
  const { port, door, settings } = await openDoor(new LimitingService(), {
    tls: { ...certificates.server, ca: undefined },
  });
  const socket = connectTcp(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await vi.waitFor(() => expect(settings.meter.connections).toBe(1));
  const isClosed = closed(socket);
  await door.drain(60_000);
  await isClosed;
});

describe('mutual TLS', () => {
  const open = () => openDoor(new LimitingService(), { tls: { ...certificates.server, ca: certificates.ca } });

  test('serves a client that shows a certificate of the authority', async () => {
    const { address } = await open();
    const { ca, client } = certificates;
    const credentials = ChannelCredentials.createSsl(ca, client.key, client.cert);
    expect((await ask(secure(address, credentials))).overallCode).toBe('OK');
  });

  test('refuses a client without a certificate, and one with that of a stranger', async () => {
    const { address, settings } = await open();
    const { ca, stranger } = certificates;
    const code = status.UNAVAILABLE;
    await expect(ask(secure(address, ChannelCredentials.createSsl(ca)))).rejects.toMatchObject({ code });
    const strange = ChannelCredentials.createSsl(ca, stranger.key, stranger.cert);
    await expect(ask(secure(address, strange))).rejects.toMatchObject({ code });
    expect(settings.meter.requests).toBe(0);
  });
});
