# Asks the function of docs/guides/webhooks.md, in the folder of the first argument, about deliveries: a
# JSON array of them on standard input, an array of verdicts on standard output.

require "json"
require "#{ARGV.fetch(0)}/receiver"

verdicts = JSON.parse($stdin.read).map do |delivery|
  body = delivery["body"].unpack1("m")
  headers = delivery.values_at("timestamp", "signature")
  from_legwork?(delivery["secret"], *headers, body, *delivery["now"])
end
puts JSON.generate(verdicts)
