export { clientIp } from './client-ip.ts';
