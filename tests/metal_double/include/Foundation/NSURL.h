#pragma once

#import <Foundation/NSString.h>

NS_ASSUME_NONNULL_BEGIN

// Of files only.
@interface NSURL : NSObject <NSCopying>
@property(nullable, readonly, copy) NSString* path;
@property(readonly, getter=isFileURL) BOOL fileURL;
@property(readonly) const char* fileSystemRepresentation NS_RETURNS_INNER_POINTER;
- (instancetype)initFileURLWithPath:(NSString*)path;
+ (NSURL*)fileURLWithPath:(NSString*)path;
@end

NS_ASSUME_NONNULL_END
